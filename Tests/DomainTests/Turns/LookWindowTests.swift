import Domain
import Testing

struct LookWindowTests {
  @Test func `each look has the next part, and all have been there after the last one`() {
    var window = LookWindow(size: 2)
    func next(_ count: Int) -> String {
      let (part, isLast) = window.next(of: Array(0..<count))
      return part.map(String.init).joined() + (isLast ? "." : "")
    }
    #expect(["01", "23", "4.", "01"] == (0..<4).map { _ in next(5) })
    // The list has become shorter, and then it is empty.
    #expect(next(2) == "01.")
    #expect(next(0) == ".")
    #expect(next(1) == "0.")
    var whole = LookWindow()
    #expect(whole.next(of: [1, 2]).part == [1, 2] && whole.next(of: [1, 2]).isLast)
  }
}
