import Formats
import Testing

/// Which characters are controls.
struct ControlCharacterTests {
  @Test func `the controls are those of Unicode's category`() {
    let scalars = (0...0x10ffff).compactMap { Unicode.Scalar($0 as UInt32) }
    let different = scalars.filter { $0.isControl != ($0.properties.generalCategory == .control) }
    #expect(different.isEmpty)
    #expect(scalars.count { $0.isControl } == 65)
  }
}
