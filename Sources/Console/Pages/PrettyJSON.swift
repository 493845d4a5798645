/// JSON with a line for each member, as people read it.
enum PrettyJSON {
  /// Returns a text in lines. What is not JSON comes out as it is, and no depth takes more than 16 steps of room.
  static func text(_ bytes: [UInt8]) -> String {
    var lines = ""
    var (depth, isInText, isEscaped) = (0, false, false)
    func indent() -> String { "\n" + String(repeating: "  ", count: min(max(depth, 0), 16)) }
    for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
      if isInText {
        lines.unicodeScalars.append(scalar)
        if isEscaped {
          isEscaped = false
        } else if scalar == "\\" {
          isEscaped = true
        } else if scalar == "\"" {
          isInText = false
        }
        continue
      }
      switch scalar {
      case "\"":
        isInText = true
        lines += "\""
      case "{", "[":
        depth += 1
        lines.unicodeScalars.append(scalar)
        lines += indent()
      case "}", "]":
        depth -= 1
        lines += indent()
        lines.unicodeScalars.append(scalar)
      case ",": lines += "," + indent()
      case ":": lines += ": "
      default: lines.unicodeScalars.append(scalar)
      }
    }
    return lines
  }
}
