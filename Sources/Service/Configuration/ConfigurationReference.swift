/// The reference of all keys, made from the calls that read them.
public enum ConfigurationReference {
  /// Markdown tables, as they stand in `docs/configuration.md`.
  public static var markdown: String {
    let (settings, publisher) = ConfigurationLoader.reference()
    var text =
      "## The configuration file\n\n| key | environment variable | default | meaning |\n| --- | --- | --- | --- |\n"
    for key in settings {
      text += "| `\(key.key)` | `\(key.variable ?? "")` | \(key.fallback) | \(key.meaning) |\n"
    }
    let titles = [
      ("", "A publisher's file"), ("apps", "Each element of `apps`"), ("offers", "Each element of `offers`"),
      ("webhooks", "Each element of `webhooks`"),
    ]
    let notes = [
      "webhooks": """
      These keys are all that an endpoint has here. Format, signature `v1a`, limits, a retry policy and rotations of the
      secret are for endpoints that are made over HTTP (docs/openapi.yaml, `/3.1/webhook_endpoints`); one of a file has their
      defaults, and its secret is changed in its file.


      """
    ]
    for (part, title) in titles {
      text += "\n## \(title)\n\n\(notes[part] ?? "")| key | default | meaning |\n| --- | --- | --- |\n"
      for key in publisher[part] ?? [] { text += "| `\(key.key)` | \(key.fallback) | \(key.meaning) |\n" }
    }
    return text
  }
}
