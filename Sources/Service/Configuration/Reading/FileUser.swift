/// A role that needs files which the configuration file names. It cannot run without them.
public enum FileUser: String, CaseIterable, Sendable { case worker, notifier }
