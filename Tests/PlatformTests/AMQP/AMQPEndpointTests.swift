import Formats
import Testing

@testable import AMQP

@Suite struct AMQPEndpointTests {
  private let nodes = ["a", "b", "c"].map { ServerAddress(host: $0, port: 5672) }

  private func order(failed: ServerAddress?, seed: UInt64) -> [ServerAddress] {
    var endpoint = AMQPEndpoint(host: "")
    endpoint.nodes = nodes
    var random = SeededRandom(seed: seed)
    return endpoint.order(failed: failed, &random)
  }

  @Test func `every order of the nodes happens, and each has all of them`() {
    let orders = Set((0..<200).map { order(failed: nil, seed: $0) })
    #expect(orders.count == 6)
    #expect(orders.allSatisfy { Set($0) == Set(nodes) })
  }

  @Test func `the node that failed comes last`() {
    let orders = Set((0..<200).map { order(failed: nodes[1], seed: $0) })
    #expect(orders == [[nodes[0], nodes[2], nodes[1]], [nodes[2], nodes[0], nodes[1]]])
    // It may be gone from the configuration.
    let stranger = ServerAddress(host: "d", port: 5672)
    #expect(Set(order(failed: stranger, seed: 1)) == Set(nodes))
  }
}
