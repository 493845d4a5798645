public import Domain
import Formats
import JSON

extension ConfigurationLoader {
  /// Reads every `*.json` in the publishers' folder, and finds no fault with any of them.
  ///
  /// - Parameter addresses: the URLs that endpoints may have.
  /// - Throws: ``ConfigurationError`` with every mistake of every file.
  public func publishers(in folder: String, addresses: WebhookAddress = WebhookAddress()) throws -> Publishers {
    let reading = try publisherFolder(folder, addresses: addresses).reading(now: 0)
    guard reading.mistakes.isEmpty else { throw ConfigurationError(mistakes: reading.mistakes) }
    return reading.publishers
  }

  /// Reads every `*.json` in the publishers' folder. A file with a mistake is part of what it reads.
  ///
  /// - Parameters:
  ///   - addresses: the URLs that endpoints may have.
  ///   - old: an earlier reading. Files that have not changed are taken from there.
  /// - Throws: ``ConfigurationError`` when the folder cannot be read, or has no such file.
  public func publisherFolder(
    _ folder: String, addresses: WebhookAddress = WebhookAddress(), after old: PublisherFolder? = nil
  ) throws(ConfigurationError) -> PublisherFolder {
    let names: [String]
    do {
      names = try files.names(in: folder)
    } catch {
      throw single(folder, "publishers.folder", "the folder cannot be read\(FileBytes.cause(folder, "folder"))")
    }
    if names.isEmpty {
      throw single(folder, "publishers.folder", "has no .json file, expected one for each publisher")
    }
    let usable = old.flatMap { $0.path == folder && $0.addresses == addresses ? $0.files : nil } ?? []
    let before = Dictionary(usable.map { (ExactText($0.name), $0) }) { first, _ in first }
    return PublisherFolder(
      path: folder, addresses: addresses,
      files: names.map { name in
        if let file = before[name], files.note(ifUnchanged: file.inputs) { return file }
        return publisherFile(name, in: folder, addresses)
      }, credentials: CredentialKind.all(doors))
  }

  private func publisherFile(_ name: String, in folder: String, _ addresses: WebhookAddress) -> PublisherFolder.File {
    let inputs = ConfigurationFiles()
    let content = content(name, in: folder, addresses, noting: inputs)
    files.note(inputs)
    return PublisherFolder.File(name: name, content: content, inputs: inputs.all)
  }

  private func content(
    _ name: String, in folder: String, _ addresses: WebhookAddress, noting files: ConfigurationFiles
  ) -> PublisherFolder.Content {
    let path = folder + "/" + name
    let root: JSONValue
    do {
      root = try document(path, noting: files)
    } catch {
      let broken = BrokenPublisher(
        file: name, id: nil, mistakes: error.mistakes.map(\.description), hidesCallers: true)
      return .broken(broken, error.mistakes)
    }
    let reader = SettingsReader(
      source: path, root: root, environment: nil, folder: self.folder(of: path), files: files)
    var lists = PublisherReader.Elements()
    for (key, list) in PublisherReader.Elements.lists {
      lists[keyPath: list] = elements(key, of: root, path, reader)
    }
    let publisher = PublisherReader(reader: reader, addresses: addresses, doors: doors).publisher(lists)
    noteMistakes(of: publisher, lists, reader)
    let mistakes = [reader] + lists.all
    guard !mistakes.allSatisfy(\.mistakes.isEmpty) else { return .publisher(publisher) }
    let own = reader.mistakes.map(\.key)
    let broken = BrokenPublisher(
      file: name, id: own.contains("publisherId") ? nil : publisher.id,
      mistakes: mistakes.flatMap(\.mistakes).map(\.description), remains: publisher, bundleIds: root.bundleIds,
      hidesCallers: own.contains(where: Self.isAboutCallers)
        || !(lists.tokens + lists.customerKeys).allSatisfy(\.mistakes.isEmpty))
    return .broken(broken, mistakes.flatMap(\.mistakes))
  }

  /// Whether a mistake of this key may keep the publisher's callers from being recognized.
  private static func isAboutCallers(_ key: String) -> Bool {
    ["tokenHashes", "tokens", "customerTokens", "doors"].contains { key == $0 || key.hasPrefix($0 + ".") }
      || key.hasPrefix("tokenHashes[")
  }

  /// Notes the mistakes that only the whole file shows.
  private func noteMistakes(of publisher: Publisher, _ lists: PublisherReader.Elements, _ reader: SettingsReader) {
    reader.noteUnknownKeys(except: Set(PublisherReader.Elements.lists.map(\.key)))
    for element in lists.all { element.noteUnknownKeys() }
    let duplicates = Dictionary(grouping: publisher.webhooks, by: \.id).filter { $0.value.count > 1 }
    // The reader has already noted a missing id.
    for id in duplicates.keys.sorted() where id != .unknown {
      reader.note("webhooks", "two endpoints have the id \"\(id)\"")
    }
    // A route knows an app by these two: no call would ever use a second app's key.
    let places = publisher.apps.filter { !$0.bundleId.text.isEmpty }.flatMap { app in
      app.environments.sorted().map { "\"\(app.bundleId)\" in \($0)" }
    }
    for (place, all) in Dictionary(grouping: places, by: ExactText.init(_:)).sorted(by: { $0.key < $1.key })
    where all.count > 1 {
      reader.note("apps", "two apps have the bundleId \(place)")
    }
    for product in publisher.offers.ambiguousProductIds {
      reader.note("offers", "product \"\(product)\" is in two offers")
    }
    // An app with a mistake is missing here.
    if publisher.apps.count == lists.apps.count {
      for door in doors {
        for (key, problem) in door.mistakes(in: publisher) { reader.note("\(door.key).\(key)", problem) }
      }
    }
  }
}

extension JSONValue {
  /// The apps that a publisher's file names.
  fileprivate var bundleIds: [BundleId] {
    guard case .array(let apps)? = self[["apps"]] else { return [] }
    return apps.compactMap { $0[["bundleId"]]?.string.map(BundleId.init(_:)) }
  }
}
