/// The elements of a page as JSON, as many as fit.
///
/// Lists hold texts of others, such as the answers of webhook endpoints. A client that asks for long pages and reads
/// none of them must not fill the gateway's memory. So a page ends before the element that would be too much, and its
/// cursor leads on from there. The first element always fits: no page is empty while there is more.
struct PageText<Element> {
  /// The most bytes of the elements of a page.
  static var most: Int { 512 << 10 }

  /// The elements that fit.
  private(set) var elements: [[UInt8]] = []
  /// The last element of the page, if others behind it did not fit.
  private(set) var end: Element?

  /// - Parameter json: writes an element. It is asked in their order, until one does not fit.
  init(_ all: some Sequence<Element>, most: Int = Self.most, _ json: (Element) -> [UInt8]) {
    var (bytes, last) = (0, Element?.none)
    for element in all {
      let text = json(element)
      bytes += text.count + 1
      if bytes > most, let last {
        end = last
        return
      }
      elements.append(text)
      last = element
    }
  }
}
