public import Crypto
import Formats
import FoundationEssentials
import JSON

/// A file of keys that cannot be used. The text shows no key, and no id that may be one by mistake.
public struct UnusableKeysFile: Error, Sendable, Equatable, CustomStringConvertible {
  public let description: String
}

extension LedgerSettings {
  /// Reads the file of ``keysFile``: `{"keys": [{"id": "2026-11", "key": "…"}]}`, each key 32 bytes in base64. The
  /// first one encrypts.
  ///
  /// A role may call this again while it runs.
  ///
  /// - Returns: no keys without a file.
  public func readKeys() throws(UnusableKeysFile) -> SealingKeys {
    guard let keysFile else { return SealingKeys() }
    guard let data = try? Data(contentsOf: URL(filePath: keysFile)) else {
      throw UnusableKeysFile(description: SettingsReader.unreadable(keysFile))
    }
    return try Self.keys(Array(data))
  }

  static func keys(_ text: [UInt8]) throws(UnusableKeysFile) -> SealingKeys {
    func unusable(_ problem: String) -> UnusableKeysFile { UnusableKeysFile(description: "the file's " + problem) }
    let root: JSONValue
    do {
      root = try JSONText(text, limits: .own).decoded()
    } catch {
      throw UnusableKeysFile(description: "the file \(defect(error, in: text))")
    }
    guard case .object(let members) = root else {
      throw UnusableKeysFile(description: "the file is \(root.shape), expected a JSON object")
    }
    guard members.count == 1, case .array(let elements)? = members["keys"] else {
      throw unusable("only member must be \"keys\", an array of objects")
    }
    guard !elements.isEmpty else { throw unusable("\"keys\" is empty, expected a key, or no \(keysFileKey) at all") }
    var keys: [(id: String, key: [UInt8])] = []
    for (number, element) in elements.enumerated() {
      let name = "keys[\(number)]"
      guard case .object(let members) = element, Set(members.keys) == ["id", "key"] else {
        throw unusable("\(name) must be an object with \"id\" and \"key\" only")
      }
      guard let id = members["id"]?.string, id.isASCIIName(1...64) else {
        throw unusable("\(name).id must be 1 to 64 letters, digits, '.', '_' or '-'")
      }
      guard let key = members["key"]?.string.flatMap(Base64.decode), key.count == AES256GCM.keySize else {
        throw unusable("\(name).key must be the base64 of 32 bytes, as `openssl rand -base64 32` prints it")
      }
      guard !keys.contains(where: { $0.id.isExactly(id) }) else {
        throw unusable("\(name).id is there twice")
      }
      guard !keys.contains(where: { $0.key == key }) else { throw unusable("\(name).key is there twice") }
      keys.append((id, key))
    }
    do throws(CryptoError) {
      return try SealingKeys(keys)
    } catch {
      throw unusable("keys cannot be used")
    }
  }

  /// Why the file is no JSON, and where. A key may be at any place of it, so no byte is shown.
  private static func defect(_ error: any Error, in text: [UInt8]) -> String {
    guard let error = error as? JSONSyntaxError else { return "is not JSON" }
    let mistake = JSONMistake(error, in: text, isSecret: true)
    return error.repeatedMember == nil
      ? "is not JSON: \(mistake)" : "has a member twice in one object, the second time at \(mistake.place)"
  }
}
