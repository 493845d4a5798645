import Configuration

/// A topic that no event has, in the words of a refusal.
struct UnknownTopic {
  private let topic: String
  private let known: [String]

  init(_ topic: String, among known: [String]) { (self.topic, self.known) = (topic, known) }

  /// Its beginning in quotation marks: a caller may send a topic as long as a body.
  var shown: String { "\"\(String(topic.unicodeScalars.prefix(100)))\"" }

  /// The end of the sentence: the nearest topic, or nothing.
  var question: String { NearestName.question(topic, among: known) }

  /// What is wrong with a path that has it.
  var inPath: String { "\(shown) is not known; expected \(known.joined(separator: " or "))\(question)" }
}
