import Domain
import Formats
import HTTPServer
import JSON

/// The members of an answer in a body.
let refundAnswerMembers = [
  "consumptionPercentage", "customerConsented", "deliveryStatus", "refundPreference", "sampleContentProvided",
]

/// Reads what a publisher wants to be done with a request for a refund: Apple's members of an answer, or
/// `{"answer": "none"}`.
///
/// - Throws: ``Problem``: 400 REQ0001, or 415.
func requestedWish(_ request: HTTPServerRequest) throws(Problem) -> RefundRequest.Wish {
  let value = try jsonBody(request)
  if case .object(let members) = value, members["answer"] != nil {
    let body = try BodyReader(value, knows: ["answer"])
    let _: NoAnswer? = try body.choice("answer")
    return .withhold
  }
  let body = try BodyReader(value, knows: refundAnswerMembers, naming: refundAnswerMembers + ["answer"])
  guard try body.flag("customerConsented") == true else {
    throw body.problem("customerConsented", "expected true; Apple accepts no answer without the customer's consent")
  }
  guard let isSampleProvided = try body.flag("sampleContentProvided") else {
    throw body.problem("sampleContentProvided", "is missing")
  }
  guard let delivery: ConsumptionAnswer.Delivery = try body.choice("deliveryStatus") else {
    throw body.problem("deliveryStatus", "is missing")
  }
  let percentage = try body.integer("consumptionPercentage", 0...Int64(ConsumptionAnswer.wholePercentage))
  let preference: ConsumptionAnswer.Preference? = try body.choice("refundPreference")
  return .send(
    ConsumptionAnswer(
      delivery, percentage: percentage.map { Int32($0) }, preference: preference, isSampleProvided: isSampleProvided))
}

private enum NoAnswer: String, CaseIterable { case none }
