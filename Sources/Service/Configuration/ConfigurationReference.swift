import JSON

/// The reference of all keys, built from the calls that read them.
public enum ConfigurationReference {
  /// The parts of a publisher's file: the file itself, and its lists of objects.
  static let parts: [(key: String, title: String)] = [
    ("", "A publisher's file"), ("apps", "Each element of `apps`"), ("offers", "Each element of `offers`"),
    ("webhooks", "Each element of `webhooks`"), ("tokens", "Each element of `tokens`"),
    ("customerTokens.keys", "Each element of `customerTokens.keys`"),
  ]

  /// One JSON object for each key, in the order of the tables.
  ///
  /// - Parameter doors: those of this build.
  public static func lines(_ doors: [any ConfiguredDoor]) -> [String] {
    let (settings, publisher) = ConfigurationLoader.reference(doors)
    return settings.map { line($0, of: "configuration") }
      + parts.flatMap { part in
        (publisher[part.key] ?? []).map { line($0, of: "publisher", list: part.key.isEmpty ? nil : part.key) }
      }
  }

  private static func line(_ key: KeyDescription, of file: String, list: String? = nil) -> String {
    let json = JSONWriter.object { json in
      json.member("file", file)
      json.member("list", list)
      json.member("key", key.key)
      json.member("environmentVariable", key.variable)
      json.member("type", key.expected)
      json.member("isRequired", key.fallback == "required")
      json.member("default", key.fallbackText)
      json.member("meaning", key.meaning)
    }
    return String(decoding: json, as: UTF8.self)
  }

  /// Markdown tables, as they stand in `docs/reference/configuration.md`.
  ///
  /// - Parameter doors: those of this build.
  public static func markdown(_ doors: [any ConfiguredDoor]) -> String {
    let (settings, publisher) = ConfigurationLoader.reference(doors)
    var text =
      "## The configuration file\n\n| key | environment variable | default | meaning |\n| --- | --- | --- | --- |\n"
    for key in settings {
      text += "| `\(key.key)` | `\(key.variable ?? "")` | \(key.fallback) | \(key.meaning) |\n"
    }
    let notes = [
      "webhooks": """
      An endpoint in this file has these keys only; format, signature, limits and retry policy have their defaults. To
      change them, or to rotate a secret, create the endpoint over HTTP instead ([openapi.yaml](openapi.yaml),
      `/3.1/webhook_endpoints`). To change the secret of an endpoint in this file, change the file that `secretFile` names.


      """
    ]
    for (part, title) in parts {
      text += "\n## \(title)\n\n\(notes[part] ?? "")| key | default | meaning |\n| --- | --- | --- |\n"
      for key in publisher[part] ?? [] { text += "| `\(key.key)` | \(key.fallback) | \(key.meaning) |\n" }
    }
    return text
  }
}

extension KeyDescription {
  /// The default without the marks of Markdown; `nil` if there is none.
  var fallbackText: String? {
    guard fallback != "required", fallback != "none" else { return nil }
    let inner = fallback.dropFirst().dropLast()
    return fallback == "`\(inner)`" && !inner.contains("`") ? String(inner) : fallback
  }
}
