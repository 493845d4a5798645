import Testing

@testable import Notifier

/// When deliveries that found no room come back.
struct ParkingTests {
  @Test func `each comes back behind the one before, and none before a second is over`() {
    var parking = Parking()
    let times = (0..<4).map { _ in parking.park(.seconds(100), .milliseconds(600)) }
    #expect(times == [.seconds(1), .milliseconds(1200), .milliseconds(1800), .milliseconds(2400)])
    #expect(parking.plannedUntil == .milliseconds(102_400))
  }

  @Test func `what finds no room within the longest time comes back evenly in the second half of it`() {
    var parking = Parking()
    let times = (0..<10_000).map { _ in parking.park(.zero, .seconds(60)) }
    #expect(times[0] == Parking.longest)
    #expect(times.allSatisfy { $0 > Parking.longest / 2 && $0 <= Parking.longest })
    // No second of the thirty gets more than its share.
    let seconds = Dictionary(grouping: times) { $0.components.seconds }
    #expect(seconds.values.allSatisfy { $0.count <= 350 })
    #expect(parking.plannedUntil == Parking.longest)
  }

  @Test func `once there is room again, they come back one behind the other`() {
    var parking = Parking()
    _ = (0..<5).map { _ in parking.park(.zero, .seconds(60)) }
    #expect(parking.park(.seconds(50), .seconds(2)) == .seconds(12))
  }
}
