/// An API that speaks another vendor's contract.
public enum Door: String, Sendable, CaseIterable { case cleeng, iaptic, playfab, mbaasy }
