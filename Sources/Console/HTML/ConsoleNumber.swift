/// Numbers as people read them.
enum ConsoleNumber {
  /// A number without its fraction, with commas: `12,345`.
  static func text(_ number: Double) -> String {
    let digits = "\(Int64(clamping: number.rounded()))"
    let isNegative = digits.hasPrefix("-")
    let plain = Array(digits.drop { $0 == "-" })
    var text = ""
    for (index, digit) in plain.enumerated() {
      if index > 0, (plain.count - index) % 3 == 0 { text += "," }
      text.append(digit)
    }
    return isNegative ? "-\(text)" : text
  }

  /// A size in MiB.
  static func mebibytes(_ bytes: Double) -> String { "\(text(bytes / 1_048_576))\u{a0}MiB" }
}

extension Int64 {
  /// The whole part of a number; 0 for what is not a number.
  init(clamping number: Double) {
    self = number.isNaN ? 0 : number >= 9e18 ? .max : number <= -9e18 ? .min : Int64(number)
  }
}
