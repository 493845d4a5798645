import AMQP
import Crypto
import Domain
import Formats
import JSON
import Testing

@testable import Messaging

/// What a person sees of a dead message, and whom it is about.
struct DeadMessageTests {
  static let good = """
    {"customerId":"kim","format":1,"publisherId":7,"registeredAt":1000,"synchronizationId":"s","transactionId":"42"}
    """

  static func job(
    _ body: String = good, _ headers: [String: AMQPValue] = [:], id: String = "job_1"
  ) -> DeadMessage {
    DeadMessage(
      .jobs,
      AMQPDelivery(
        of: AMQPMessage(exchange: "", routingKey: "q", messageID: id, headers: headers, body: Array(body.utf8))))
  }

  static func delivery(
    data: String = #"{"customerId":"kim"}"#, headers: [String: AMQPValue] = [:], id: String = "evt_1"
  ) -> DeadMessage {
    let body = #"{"broadcasterId":7,"data":\#(data),"topic":"t"}"#
    return DeadMessage(
      .deliveries,
      AMQPDelivery(
        of: AMQPMessage(
          exchange: "", routingKey: "q", messageID: id, type: "t", headers: headers, body: Array(body.utf8))))
  }

  private func cause(_ kind: DeadMessage.Kind, _ headers: [String: AMQPValue]) -> DeadCause {
    kind == .jobs ? Self.job("{}", headers).cause : Self.delivery(headers: headers).cause
  }

  @Test(arguments: DeadCause.allCases)
  func `a cause that is written is read`(written: DeadCause) {
    var message = AMQPMessage(exchange: "", routingKey: "q", messageID: "m", body: [])
    message.bury(written, at: 5)
    #expect(cause(.jobs, message.headers) == written)
    #expect(cause(.deliveries, message.headers) == written)
    #expect(Self.job("{}", message.headers).buriedAt == 5)
  }

  @Test(arguments: [
    (DeadMessage.Kind.jobs, "6 runs in a row did not end: it seems to kill its worker", DeadCause.crashed),
    (.jobs, "its synchronizationId has become another registration's", .superseded),
    (.jobs, "its synchronizationId now belongs to another registration", .superseded),
    (.jobs, "not a job: the body is not JSON", .malformed),
    (.deliveries, "6 notifiers in a row died while they had it: it seems to kill its process", .crashed),
    (.deliveries, "endpoint ep_1 is not there", .endpointGone),
    (.deliveries, "endpoint ep_1 was deleted", .endpointGone),
    (.deliveries, "publisher 7 is not configured", .publisherUnknown),
    (.deliveries, "the body is not an event", .malformed), (.deliveries, "the message has no usable id", .malformed),
    (.deliveries, "status 500", .abandoned),
  ])
  func `an earlier version wrote the cause in words`(kind: DeadMessage.Kind, reason: String, expected: DeadCause) {
    #expect(cause(kind, ["countersign-reason": .string(reason)]) == expected)
    #expect(cause(kind, ["countersign-reason": .string(reason), "countersign-cause": "nonsense"]) == expected)
  }

  @Test func `RabbitMQ notes its own reason, and a message without one has none`() {
    #expect(cause(.jobs, ["x-first-death-reason": "delivery_limit"]) == .deliveryLimit)
    #expect(cause(.deliveries, ["x-first-death-reason": "expired"]) == .unknown)
    #expect(cause(.deliveries, [:]) == .unknown)
  }

  @Test func `a job tells its publisher, its customer and its time`() {
    let job = Self.job()
    #expect(job.publisherId == 7 && job.time == 1000 && job.buriedAt == nil && job.endpointId == nil)
    #expect(job.customers == [CustomerKey(publisherId: 7, id: "kim")])
    #expect(job.topic == nil && job.attempt == 1 && job.id == "job_1")
  }

  @Test func `a delivery tells its endpoint, its topic and the time of its event`() {
    let delivery = Self.delivery(headers: [
      "countersign-endpoint": "ep_1", "countersign-attempt": 8, "cloudEvents_time": "2026-11-23T09:00:00.000Z",
    ])
    #expect(delivery.publisherId == 7 && delivery.endpointId == "ep_1" && delivery.attempt == 8)
    #expect(delivery.time == milliseconds(rfc3339: "2026-11-23T09:00:00.000Z") && delivery.topic == "t")
  }

  @Test func `a body that is not an object leaves its publisher to the header`() {
    for body in ["", "no JSON", "[]", "7", "\u{0}"] {
      let message = Self.job(body, ["cloudEvents_source": "/countersign/9"])
      #expect(message.body == nil && message.people.isEmpty && message.isUnreadable, "\(body)")
      #expect(message.publisherId == 9)
    }
    #expect(Self.job("[]").publisherId == nil)
  }

  @Test func `people are named wherever a member says so, as a text or as a number`() {
    let data = """
      {"purchase":{"customerId":"a","cleengCustomerId":42},"list":[{"applicationUsername":"b"}],"version":9,
      "previousCustomerId":"c","customer":{"id":"d"},"customerEmail":""}
      """
    #expect(Self.delivery(data: data).people == ["a", "42", "b", "c"])
  }

  private func erased(_ customer: CustomerId, at time: Int64 = 2000) -> (CustomerKey) -> Int64? {
    { $0 == CustomerKey(publisherId: 7, id: customer) ? time : nil }
  }

  @Test func `an erasure takes what is about the person, and not what came after the person came back`() {
    #expect(Self.job().isErased(erased("kim")))
    #expect(Self.job().isErased(erased("kim", at: 1000)))
    #expect(!Self.job().isErased(erased("kim", at: 999)))
    #expect(!Self.job().isErased(erased("tim")))
    // Nobody can say when.
    #expect(Self.delivery().isErased(erased("kim", at: 0)))
    // Another publisher's customer of that name.
    let other = Self.job(#"{"customerId":"kim","publisherId":8}"#)
    #expect(!other.isErased(erased("kim")))
  }

  @Test func `an erasure takes what nobody can read, and leaves what is about nobody`() {
    func isErased(_ body: String, _ cause: String) -> Bool {
      Self.job(body, ["countersign-cause": .string(cause)]).isErased { _ in nil }
    }
    #expect(isErased("no JSON: kim", "malformed"))
    #expect(isErased("no JSON: kim", "delivery_limit"))
    #expect(isErased(#"{"customerId":{"kim":1},"publisherId":7}"#, "malformed"))
    #expect(isErased(#"{"customerId":"kim"}"#, "malformed"))
    #expect(!isErased(#"{"customerId":"kim","publisherId":7}"#, "malformed"))
    let notice = Self.delivery(data: #"{"endpointId":"ep"}"#, headers: ["countersign-cause": "abandoned"])
    #expect(!notice.isErased { _ in 9 })
  }

  @Test func `a customer is named as a member, or as a word of what nobody can read`() {
    #expect(Self.job().names("kim"))
    #expect(!Self.job().names("ki") && !Self.job().names("42"))
    for body in ["kim", "x kim", "\"kim\"", "{\"customerId\":\"kim"] {
      #expect(Self.job(body).names("kim"), "\(body)")
    }
    for body in ["", "ki", "kimi", "akim", "kim7"] { #expect(!Self.job(body).names("kim"), "\(body)") }
    #expect(!Self.job("kim").names(""))
  }

  private func text(_ write: (inout JSONWriter) -> Void) -> String {
    String(decoding: JSONWriter.object { write(&$0) }, as: UTF8.self)
  }

  @Test func `a line names a customer by the hash of the log, plainly, or not at all`() {
    let hash = CustomerDigest.short(of: "kim", of: 7)
    let headers: [String: AMQPValue] = ["countersign-cause": "crashed", "countersign-reason": "why"]
    func line(_ naming: PersonNaming) -> String {
      text { Self.job(Self.good, headers).writeLine(to: &$0, position: 3, naming) }
    }
    #expect(
      line(.hash) == """
        {"kind":"jobs","position":3,"id":"job_1","cause":"crashed","reason":"why","publisherId":7,"attempt":1,\
        "time":"1970-01-01T00:00:01.000Z","customers":["\(hash)"]}
        """)
    #expect(line(.plain).contains(#""customers":["kim"]"#))
    #expect(!line(.none).contains("customers"))
    let delivery = text {
      let headers: [String: AMQPValue] = ["countersign-endpoint": "ep_1", "countersign-buried": 1000]
      Self.delivery(headers: headers).writeLine(to: &$0, position: 1, .hash)
    }
    #expect(delivery.contains(#""endpointId":"ep_1","topic":"t""#))
    #expect(delivery.contains(#""buriedAt":"1970-01-01T00:00:01.000Z""#))
  }

  @Test func `a message is shown without what a client told about a person`() {
    let body = """
      {"customerId":"kim","ipAddress":"203.0.113.9","attributes":"{}","list":[{"userId":7}],"publisherId":7,"x":1.5}
      """
    let job = Self.job(body, ["countersign-attempt": 4, "a": "b", "f": true, "x-death": .other])
    let hash = CustomerDigest.short(of: "kim", of: 7)
    let shown = text { job.write(to: &$0, position: 1, .hash) }
    #expect(shown.contains(#""headers":{"a":"b","countersign-attempt":4,"f":true,"x-death":null},"redelivered":false"#))
    #expect(!shown.contains("kim") && !shown.contains("203.0") && !shown.contains("attributes"))
    let other = CustomerDigest.short(of: "7", of: 7)
    #expect(shown.contains(#""body":{"customerId":"\#(hash)","list":[{"userId":"\#(other)"}],"publisherId":7"#))
    let silent = text { job.write(to: &$0, position: 1, .none) }
    #expect(silent.contains(#""body":{"list":[{}],"publisherId":7,"x":1.5}"#))
    let plain = text { job.write(to: &$0, position: 1, .plain) }
    #expect(plain.contains(#""customerId":"kim","ipAddress":"203.0.113.9""#))
  }

  @Test func `a body that nobody can read is shown to a person who asks for it only`() {
    let message = Self.job("no JSON: kim")
    let shown = text { message.write(to: &$0, position: 1, .hash) }
    #expect(!shown.contains("kim") && shown.contains(#""bodyBytes":12,"bodySHA256":""#))
    let plain = text { message.write(to: &$0, position: 1, .plain) }
    #expect(plain.contains(#""bodyText":"no JSON: kim""#))
    let malformed = Self.job(#"{"transactionId":"kim@example.com"}"#, ["countersign-cause": "malformed"])
    let silent = text { malformed.write(to: &$0, position: 1, .hash) }
    #expect(!silent.contains("kim"))
  }
}
