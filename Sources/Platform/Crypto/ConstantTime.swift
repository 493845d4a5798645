import COpenSSL

/// Returns whether two secrets are equal. Its time tells only their lengths.
public func constantTimeEqual(_ a: [UInt8], _ b: [UInt8]) -> Bool {
  a.withUnsafeBytes { a in b.withUnsafeBytes { constantTimeEqual(a, $0) } }
}

/// Returns the same for secrets that are a part of a longer text.
public func constantTimeEqual(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
  a.count == b.count && CRYPTO_memcmp(a.baseAddress, b.baseAddress, a.count) == 0
}
