package resource

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
