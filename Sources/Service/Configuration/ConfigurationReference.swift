/// The reference of all keys, built from the calls that read them.
public enum ConfigurationReference {
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
    let titles = [
      ("", "A publisher's file"), ("apps", "Each element of `apps`"), ("offers", "Each element of `offers`"),
      ("webhooks", "Each element of `webhooks`"), ("tokens", "Each element of `tokens`"),
      ("customerTokens.keys", "Each element of `customerTokens.keys`"),
    ]
    let notes = [
      "webhooks": """
      An endpoint in this file has these keys only; format, signature, limits and retry policy have their defaults. To
      change them, or to rotate a secret, create the endpoint over HTTP instead ([openapi.yaml](openapi.yaml),
      `/3.1/webhook_endpoints`). To change the secret of an endpoint in this file, change the file that `secretFile` names.


      """
    ]
    for (part, title) in titles {
      text += "\n## \(title)\n\n\(notes[part] ?? "")| key | default | meaning |\n| --- | --- | --- |\n"
      for key in publisher[part] ?? [] { text += "| `\(key.key)` | \(key.fallback) | \(key.meaning) |\n" }
    }
    return text
  }
}
