package import AppStore
import Crypto
package import TestSupport

extension TestAuthority {
  /// What verifies with this authority's root, and with no other one.
  package func verifier(cachedChains: Int = 64) throws -> SignedDataVerifier {
    SignedDataVerifier(roots: TrustedRoots([try Certificate(der: root)]), cachedChains: cachedChains)
  }
}
