package docsite

import (
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/ratchet-pay/ratchet/api"
)

// contract is what the pages show of api/openapi.yaml. It is far from all that is
// in there: the tests, which hold the code to every word of it, read it with a
// library for that. To a program which only shows it, that would be a validator of
// JSON schemas too many.
type contract struct {
	Info       struct{ Description string }
	Tags       []struct{ Name, Description string }
	Paths      map[string]struct{ Post, Get, Delete *operationSpec }
	Components struct {
		Parameters map[string]*parameterSpec
		Responses  map[string]*responseSpec
		Schemas    map[string]*schemaSpec
	}
}

type operationSpec struct {
	ID          string `yaml:"operationId"`
	Tags        []string
	Summary     string
	Description string
	Deprecated  bool
	Flow        string `yaml:"x-ratchet-flow"`
	Parameters  []*parameterSpec
	Body        struct {
		Content map[string]struct{ Schema *schemaSpec }
	} `yaml:"requestBody"`
	Responses map[string]*responseSpec
	Examples  []example `yaml:"x-examples"`
}

type parameterSpec struct {
	Ref         string `yaml:"$ref"`
	Name, In    string
	Required    bool
	Description string
	Schema      *schemaSpec
}

type responseSpec struct {
	Ref         string `yaml:"$ref"`
	Description string
	Statuses    []int `yaml:"x-statuses"` // that every operation can answer
	Content     map[string]struct{ Schema *schemaSpec }
}

type schemaSpec struct {
	Ref         string `yaml:"$ref"`
	Type        string
	Description string
	Required    []string
	Properties  map[string]*schemaSpec
	Nullable    bool
	Enum        []any
	AnyOf       []*schemaSpec `yaml:"anyOf"`
	Items       *schemaSpec
	Example     yaml.Node
	Codes       map[string]struct {
		Status    []int
		Means, Do string
	} `yaml:"x-codes"`
}

// theContract is read once.
var theContract = sync.OnceValues(func() (*contract, error) {
	var c contract
	err := yaml.Unmarshal(api.OpenAPI, &c)
	return &c, err
})

// A schema under its own name is found by that name.
const (
	parametersRef = "#/components/parameters/"
	responsesRef  = "#/components/responses/"
	schemasRef    = "#/components/schemas/"
)

func (c *contract) parameter(p *parameterSpec) *parameterSpec {
	if name, named := strings.CutPrefix(p.Ref, parametersRef); named {
		return c.Components.Parameters[name]
	}
	return p
}

func (c *contract) schema(s *schemaSpec) *schemaSpec {
	if name, named := strings.CutPrefix(s.Ref, schemasRef); named {
		return c.Components.Schemas[name]
	}
	return s
}
