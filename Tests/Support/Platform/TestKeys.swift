public import Crypto

/// Keys as an identity provider publishes them.
public enum TestKeys {
  /// The coordinates of a point are the last 64 bytes of the key in DER.
  public static func coordinates(_ key: P256PublicKey) -> (x: [UInt8], y: [UInt8]) {
    let lines = key.pem.split(separator: "\n").dropFirst().dropLast()
    let der = Base64.decode(lines.joined()) ?? []
    return (Array(der.suffix(64).prefix(32)), Array(der.suffix(32)))
  }

  /// A key as a JSON Web Key.
  public static func jwk(_ key: P256PublicKey, id: String? = nil, _ more: String = "") -> String {
    let (x, y) = coordinates(key)
    let name = id.map { #","kid":"\#($0)""# } ?? ""
    return #"{"kty":"EC","crv":"P-256","x":"\#(Base64URL.encode(x))","y":"\#(Base64URL.encode(y))"\#(name)\#(more)}"#
  }

  /// Keys as a set.
  public static func set(_ keys: [String]) -> String { #"{"keys":[\#(keys.joined(separator: ","))]}"# }

  /// A token with the signature of a key.
  public static func token(_ claims: String, kid: String?, _ key: P256PrivateKey) throws -> String {
    let name = kid.map { #","kid":"\#($0)""# } ?? ""
    let text =
      Base64URL.encode(Array(#"{"alg":"ES256"\#(name)}"#.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
    return text + "." + Base64URL.encode(try key.signature(for: Array(text.utf8)))
  }

  /// An RSA key as a JSON Web Key, without its last brace. It was made without keeping the private half.
  public static let rsa = """
    {"kty":"RSA","e":"AQAB","n":"\
    sUEKVIFBj1aWYhzaJj4Cah2ggzCG0ux1Nm2Zz8wfzqSeiNs-NF4rA6pd3U4CntQ30_0-kUEJFwMJHgftGuYRSnCT1jVUkEzcOsT-\
    WK-0RTquCOKlq2t7Fo8EBFdMv9MZvDOfmZ578RlATu1_jU6W0uxyVlgsiV0kdwROnCahgbSJSeugflVjwgNnznJMxpIFvSgJjkcY\
    kW8yYyD2bbSryuQec7MYIujyN0zTrdZN_JGo5auqMjuRMEcVnjCIPUNmZ-rMfpeYoc7vB_3TSR4x71XL9uu3vk3retlGrXU2swcJ\
    KhiRzQ3g5xwy4gy6shVjzlRnIWdW0h7K-rpzeEyYQQ"
    """

  /// `{"publisherId":7,"customerId":42,"exp":1700000060}`, signed with that key.
  public static let rsaToken = """
    eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJwdWJsaXNoZXJJZCI6NywiY3VzdG9tZXJJZCI6NDIsImV4cCI6MTcwMDAwMDA\
    2MH0.Vy3QZ_gaLdYkoOfz7DlocFZrCzdNWbZ_yEGB_MeFvg3VpbtypQzqh1xUGy9qevPKyqP-dWvDyr_8i2XGEJLl3ZpzULwUVVT\
    ErDKDidbfwPSUlRcpICOOWyKFZjrSLhygoY1ZhsfdCA5LwHFQkWUXJUEXjFtEy-mf5tQ8epBApROBn38Ft645VJgXZFS3G3Wc65b\
    54Pf-51okFUU3PlNXYwCpwpkzTqAEPcaOTfCOjyxY44kgH08jZrflUWU8woH1RNB3qXhpaIrv76i7o74lbegVGpKIigsLSGUWQMJ\
    KT6WtcfpqT6vWt9O2M5hLVpumobbbt3yhV8gjj5Bi7UgIlA
    """

  /// A key that is too short.
  public static let rsa1024 = """
    -----BEGIN PUBLIC KEY-----
    MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQCrmDoaM6+6kv5wkPBbFoccKRoW
    Wh2ef1EZpZlIhNLjq1Nhc4ZQLQV6r47fPzznG2SRxB6sDOSkF54i6lZaj/RmfI3x
    i3quYhGahZSZOrFgnPW3N/2qs46ma5TngjOJbbOpMSH8QnStK0Z0oq2/DqCZSChl
    HkI67GGc7hQduttTjQIDAQAB
    -----END PUBLIC KEY-----
    """
}
