import Configuration
import Domain

/// A topic that no event has, in the words of a refusal.
struct UnknownTopic {
  private let topic: EventTopic
  private let known: [EventTopic]

  init(_ topic: EventTopic, among known: [EventTopic]) { (self.topic, self.known) = (topic, known) }

  /// Its beginning in quotation marks: a caller may send a topic as long as a body.
  var shown: String { "\"\(String(topic.text.unicodeScalars.prefix(100)))\"" }

  /// The end of the sentence: the nearest topic, or nothing.
  var question: String { NearestName.question(topic.text, among: known.map(\.text)) }

  /// What is wrong with a path that has it.
  var inPath: String { "\(shown) is not known; expected \(known.map(\.text).joined(separator: " or "))\(question)" }
}
