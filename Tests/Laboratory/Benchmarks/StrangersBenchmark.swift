import AppStore
import Configuration
import Crypto
import Doors
import EventLoop
import Formats
import Gateway
import Glibc
import JSON

/// What the worst body costs a gateway's loop at each entrance that needs no credential, or one that is in every copy
/// of an app: milliseconds of processor time, the most of some runs.
///
/// docs/internals/verification.md has the figures. Each body has the largest size that its entrance takes, and is made
/// so that reading it costs as much as the limits allow.
struct StrangersBenchmark {
  private static let runs = 10
  /// The most bytes of a notification, and of a body with a receipt (`gateway.doors.maxBodyBytes`).
  private static let notification = PostedNotification.maxLength
  private static let receipt = ConfigurationLoader.defaults().gateway.doors.maxBodyBytes

  func run() throws -> [String: Double] {
    var result: [String: Double] = [:]
    for (name, body) in bodies(of: Self.notification, elements: 499, members: 128, values: 19_900) {
      result["notification.\(name)"] = most { _ = try? PostedNotification(body) }
    }
    for (name, body) in bodies(of: Self.receipt, elements: 999, members: 256, values: 9_900) {
      result["door.\(name)"] = most {
        let value: JSONValue? = try? JSONText(body, limits: .validation).decoded()
        guard case .object(let members)? = value, case .string(let text)? = members["text"] else { return }
        _ = TextLimit.receipt.admits(text)
      }
    }
    for (name, text) in try signedTexts() {
      let minted = try MintedTransactions(at: unixMilliseconds())
      result["signed.\(name)"] = most { _ = minted.verifier.notification(text, expecting: minted.apps) }
    }
    let claims = Array("{\(members(80, "c"))\(list(500, "\"g\""))}".utf8.prefix(6000))
    result["token.claims"] = most { _ = try? JSONText(claims).decoded(as: JSONValue.self) }
    let parameters = (0..<4000).map { "a\($0 % 10)=%41" }
    result["query.parameters"] = most { for text in parameters { _ = PercentCoding.decoded(text[...]) } }
    return result
  }

  private func most(_ work: () -> Void) -> Double {
    var most = 0.0
    for _ in 0..<Self.runs {
      let start = Self.processorSeconds()
      work()
      most = max(most, (Self.processorSeconds() - start) * 1000)
    }
    return most
  }

  // MARK: Bodies

  private func bodies(
    of size: Int, elements: Int, members: Int, values: Int
  ) -> [(String, [UInt8])] {
    func text(_ unit: String) -> [UInt8] {
      let count = (size - 16) / unit.utf8.count
      return Array("{\"text\":\"\(String(repeating: unit, count: count))\"}".utf8)
    }
    func lists(of element: String, _ each: Int) -> [UInt8] {
      let count = values / (elements * each + 1)
      let lists = Array(repeating: list(elements, element), count: count).joined(separator: ",")
      return Array("{\"a\":[\(lists)]}".utf8)
    }
    let number = "1." + String(repeating: "7", count: 58) + "e-5"
    let objects = Array(repeating: "{\(self.members(members, "k"))}", count: values / (2 * members + 1))
    let plain = Array(repeating: "{\(self.members(members, "k", escaped: false))}", count: values / (2 * members + 1))
    return [
      ("spaces", Array(repeating: 0x20, count: size - 2) + Array("{}".utf8)),
      ("ascii", text("A")), ("accents", text("é")), ("symbols", text("😀")), ("escapes", text("\\u0041")),
      ("escaped.accents", text("\\u00e9")), ("short.escapes", text("\\n")), ("pairs", text("\\ud83d\\ude00")),
      ("empty.objects", lists(of: "{}", 1)), ("numbers", lists(of: number, 1)),
      ("escaped.names", Array("{\"a\":[\(objects.joined(separator: ","))]}".utf8)),
      ("names.of.one.hash", Array("{\"a\":[\(plain.joined(separator: ","))]}".utf8)),
    ]
  }

  private func list(_ count: Int, _ element: String) -> String {
    "[\(Array(repeating: element, count: count).joined(separator: ","))]"
  }

  /// Members whose names share their length and their first and last bytes.
  private func members(_ count: Int, _ letter: String, escaped: Bool = true) -> String {
    let first = escaped ? "\\u0061" : "a"
    return (0..<count).map { "\"\(first)\(letter)\(1000 + $0)z\":0" }.joined(separator: ",")
  }

  // MARK: Signed texts

  /// Texts that somebody has signed with certificates of their own.
  private func signedTexts() throws -> [(String, String)] {
    let root = try CertificateAuthority.root(commonName: "Nobody's Root")
    let intermediate = try root.issueAuthority(
      CertificateProfile(
        commonName: "Nobody's Intermediate", use: .authority(pathLength: 0), markers: ["1.2.840.113635.100.6.2.1"]))
    let leaf = try intermediate.issueAuthority(
      CertificateProfile(
        commonName: "Nobody's Leaf", use: .signing, markers: ["1.2.840.113635.100.6.11.1"]), curve: .p256)
    let signer = try PayloadSigner(leaf: leaf, intermediate: intermediate, root: root)
    let lists = Array(repeating: list(255, "{}"), count: 15).joined(separator: ",")
    func payload(_ size: Int) -> String {
      let frame = "{\"notificationType\":\"TEST\",\"signedDate\":\(unixMilliseconds()),\"a\":[\(lists)],\"b\":\"\"}"
      let filler = String(repeating: "\\u0041", count: max(0, (size - frame.utf8.count) / 6))
      return String(frame.dropLast(2)) + filler + "\"}"
    }
    let certificates = Array(repeating: String(repeating: "A", count: 5_900), count: 4)
    let header = Base64URL.encode(
      Array(#"{"alg":"ES256","x5c":["\#(certificates.joined(separator: "\",\""))"]}"#.utf8))
    return [
      ("genuine.size", try signer.sign(Array(payload(15_000).utf8))),
      // The longest that the loop verifies, and the longest of all, which a thread of the pool verifies.
      ("longest.on.loop", try signer.sign(Array(payload(90_000).utf8))),
      ("longest.on.pool", try signer.sign(Array(payload(1_560_000).utf8))),
      ("long.header", header + ".e30." + Base64URL.encode(Array(repeating: 1, count: 64))),
    ]
  }

  /// The processor time of this thread: another process on the same core does not count.
  private static func processorSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
