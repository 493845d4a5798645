import COpenSSL

/// Returns bytes from OpenSSL's generator, fit for secrets and keys.
public func secureRandomBytes(_ count: Int) throws(CryptoError) -> [UInt8] {
  guard count > 0 else { return [] }
  var bytes = [UInt8](repeating: 0, count: count)
  guard count <= Int(Int32.max), RAND_bytes(&bytes, Int32(count)) == 1 else {
    throw .taken(during: "draw \(count) random bytes")
  }
  return bytes
}
