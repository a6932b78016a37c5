package resource

// Changed is the address after an update: a field that was not sent stays, and one that was sent empty becomes nil.
func (a Address) Changed(sent Address) Address {
	return Address{
		City:       Patch(sent.City, a.City),
		Country:    Patch(sent.Country, a.Country),
		Line1:      Patch(sent.Line1, a.Line1),
		Line2:      Patch(sent.Line2, a.Line2),
		PostalCode: Patch(sent.PostalCode, a.PostalCode),
		State:      Patch(sent.State, a.State),
	}
}
