/// Why a control call is refused, with the status of the answer.
struct ControlRefusal: Error, Equatable, Sendable {
  var status: Int
  var text: String

  /// A mistake in the body.
  static func mistake(_ text: String) -> ControlRefusal { ControlRefusal(status: 400, text: text) }
  /// A life in another state than the action needs.
  static func conflict(_ text: String) -> ControlRefusal { ControlRefusal(status: 409, text: text) }
  static let unknownLife = ControlRefusal(status: 404, text: "no life has this transaction id")
}
