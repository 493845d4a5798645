extension TestKeys {
  /// A public key on another curve than ours.
  public static let p384Public = """
    -----BEGIN PUBLIC KEY-----
    MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAESrt0o8ljChXK1J/0v+I5C4JKLAv+aY0Y
    pmAXbeB4lRudrAOPL8fggVM9UeOQcjNVhDTvRo0DRLxcWI2JeCaZM7hwZIb8oOZY
    /QnEhARIKi+ndtigpcHLGc+I9hIsOEES
    -----END PUBLIC KEY-----
    """

  /// Encrypted with the password `x`. Nobody has ever signed anything with it.
  /// A public key for RSA with 2048 bits.
  public static let rsa2048 = """
    -----BEGIN PUBLIC KEY-----
    MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA58QceiDQUYc91dv1kt5x
    vNEKajzDXU49XiMiBLxZ93pz0N2zKqNPMkPQBGcvCA28/MjslMopyzD/NCxo3Nx0
    XZ+28NFU3P2VMddJIvcaqzw8j+h1R1DZ/b4VcdCTiZi6+htg8MTVuzEhWzS3TH+E
    RhapcWWL/C5HSyw7RD+53nb+yyIJdsYGJD/r0DbjYoT8x0x0eBvVSlXLGiz0D0W7
    Loy+NMRXG9drNnljEJ0pLPq+jPbBe7IOVXMQ+BUS7BVTfd2Ub04hR6Lqc/0hP70h
    JwSYiN2OO7+v2oVERREHtFQ/B600cx1q8KK53S6BIjMCX5LJqM6Hne50pYqg4F12
    1QIDAQAB
    -----END PUBLIC KEY-----
    """
}
