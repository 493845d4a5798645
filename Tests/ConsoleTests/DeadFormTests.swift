import Coordination
import Domain
import Formats
import Messaging
import Testing

@testable import Console

/// What a form means that changes many things at once: nothing but what a preview has counted.
struct DeadFormTests {
  private func body(_ fields: [String: String]) throws -> FormBody {
    let text = fields.map { "\($0.key)=\(PercentCoding.encoded($0.value))" }.joined(separator: "&")
    return try #require(FormBody(Array(text.utf8)))
  }

  private func dead(_ fields: [String: String]) throws -> DeadForm? { DeadForm(try body(fields)) }

  @Test func `a preview means what the list shows`() throws {
    let form = try #require(
      try dead(["kind": "deliveries", "cause": "abandoned", "publisher": "7", "id": "evt", "endpoint": "ep"]))
    #expect(form.counted == nil)
    let filter = form.filter(at: 5000)
    #expect(filter.cause == .abandoned && filter.publisher == 7 && filter.id == "evt" && filter.endpoint == "ep")
    #expect(filter.buriedUntil == 5000)
    let again = try dead(Dictionary(form.fields.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 }))
    #expect(again == form)
    let all = try #require(try dead(["kind": "jobs", "cause": "", "publisher": "", "id": "", "endpoint": ""]))
    #expect(
      all.filter(at: 1)
        == {
          var filter = DeadFilter()
          filter.buriedUntil = 1
          return filter
        }())
  }

  @Test func `a confirmation means what the preview has counted`() throws {
    let form = try #require(try dead(["kind": "jobs", "step": "confirm", "count": "3", "until": "4000"]))
    #expect(form.counted == RetryAllForm.Counted(count: 3, until: 4000))
    #expect(form.filter(at: 9000).buriedUntil == 4000)
  }

  @Test(arguments: [
    ["kind": "other"], ["cause": "other"], ["publisher": "x"], ["id": "a\0"], ["endpoint": "a\0"],
    ["id": String(repeating: "a", count: 513)], ["step": "confirm"], ["step": "confirm", "count": "1"],
    ["step": "confirm", "count": "0", "until": "1"], ["step": "confirm", "count": "1001", "until": "1"],
    ["step": "confirm", "count": "1", "until": "-1"], ["step": "confirm", "count": "x", "until": "1"],
    ["step": "confirm", "count": "99999999999999999999", "until": "1"],
  ])
  func `a form that no page makes means nothing`(fields: [String: String]) throws {
    #expect(try dead(fields) == nil)
  }

  @Test func `all that wait for one reason are tried, as they were counted`() throws {
    func form(_ fields: [String: String]) throws -> RetryAllForm? { RetryAllForm(try body(fields)) }
    let preview = try #require(try form(["cause": "unauthorized", "publisher": "7", "step": "preview"]))
    #expect(preview.cause == .unauthorized && preview.publisher == 7 && preview.counted == nil)
    #expect(preview.filter(at: 5000).registeredUntil == 5000)
    var fields = Dictionary(preview.fields(12, until: 5000).map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
    fields["step"] = "confirm"
    let confirmed = try #require(try form(fields))
    #expect(confirmed.counted == RetryAllForm.Counted(count: 12, until: 5000))
    #expect(confirmed.filter(at: 9000).registeredUntil == 5000 && confirmed.filter(at: 9000).publisher == 7)
    for wrong in [
      [:], ["cause": "other"], ["cause": "unauthorized", "publisher": "x"],
      ["cause": "unauthorized", "step": "confirm"],
      ["cause": "unauthorized", "step": "confirm", "count": "5001", "until": "1"],
      ["cause": "unauthorized", "step": "confirm", "count": "1", "until": "-1"],
    ] {
      #expect(try form(wrong) == nil, "\(wrong)")
    }
  }
}
