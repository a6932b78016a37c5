package docsite

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestObjectsOfTheReference(t *testing.T) {
	t.Parallel()
	ref, err := theReference()
	if err != nil {
		t.Fatal(err)
	}
	find := func(slug string) resource {
		at := slices.IndexFunc(ref.Resources, func(r resource) bool { return r.Slug == slug })
		return ref.Resources[at]
	}
	charges := find("charges")

	t.Run("an object is described where its operations are, with types, and apart from what is always null",
		func(t *testing.T) {
			t.Parallel()
			charge := charges.Object("charge")
			if charge == nil {
				t.Fatal("the page of charges has no charge")
			}
			kinds := map[string]field{}
			for _, f := range charge.Fields {
				kinds[f.Name] = f
			}
			for name, want := range map[string]field{
				"amount":          {Type: "integer"},
				"billing_details": {Type: "billing_details"},
				"customer":        {Type: "string or customer or deleted_customer", Nullable: true},
				"receipt_url":     {Type: "string", Nullable: true},
				"refunds":         {Optional: true},
				"status":          {Type: "failed | pending | succeeded"},
				"transfer_group":  {Type: "string", Nullable: true},
			} {
				got, known := kinds[name]
				if !known || want.Type != "" && got.Type != want.Type || got.Nullable != want.Nullable ||
					got.Optional != want.Optional {
					t.Errorf("%s is %+v, want %+v", name, got, want)
				}
			}
			if !slices.Contains(charge.Never, "transfer_data") || kinds["transfer_data"].Name != "" {
				t.Errorf("always null are %v", charge.Never)
			}
		})

	t.Run("every operation that answers with an object leads to its description", func(t *testing.T) {
		t.Parallel()
		var with int
		for _, r := range ref.Resources {
			for _, o := range r.Operations {
				if r.Object(o.Answer) != nil {
					with++
				}
			}
		}
		if with < 60 {
			t.Errorf("only %d operations have one", with)
		}
	})

	t.Run("examples are JSON, and have the fields that the object has", func(t *testing.T) {
		t.Parallel()
		var examples int
		for _, r := range ref.Resources {
			for _, o := range r.Objects {
				if o.Example == "" {
					continue
				}
				examples++
				var got map[string]any
				if err := json.Unmarshal([]byte(o.Example), &got); err != nil {
					t.Errorf("%s: %v", o.Name, err)
				}
				for _, f := range o.Fields {
					if _, has := got[f.Name]; !has && !f.Optional {
						t.Errorf("the example of %s has no %s", o.Name, f.Name)
					}
				}
			}
		}
		if examples < 24 {
			t.Errorf("only %d objects have an example", examples)
		}
	})

	t.Run("parameters of Stripe's that are missing here are named at their operation", func(t *testing.T) {
		t.Parallel()
		at := slices.IndexFunc(charges.Operations, func(o operation) bool { return o.ID == "charge.create" })
		if !slices.Contains(charges.Operations[at].Unsupported, "transfer_data") {
			t.Errorf("they are %s", strings.Join(charges.Operations[at].Unsupported, ", "))
		}
	})
}
