extension Unicode.Scalar {
  /// Whether it is a control character: of Unicode's category Cc, which has exactly these 65 and never gets others
  /// (Unicode Standard, section 23.1). The lookup of the category costs a hundred times as much.
  public var isControl: Bool { value < 0x20 || (0x7f...0x9f).contains(value) }
}
