package form_test

import (
	"fmt"

	"github.com/ratchet-pay/ratchet/internal/form"
)

// The struct says what an operation accepts. The same request always has the same
// canonical form, in whichever order its parameters were sent.
func Example() {
	var params struct {
		Amount   int64         `form:"amount,required" min:"1"`
		Currency string        `form:"currency,required"`
		Metadata form.Metadata `form:"metadata"`
	}
	for _, body := range []string{
		"amount=2000&currency=usd&metadata[order]=4711",
		"metadata[order]=4711&currency=usd&amount=2000",
	} {
		values, err := form.Parse(body)
		if err != nil {
			panic(err)
		}
		if err := form.Decode(values, &params); err != nil {
			panic(err)
		}
		fmt.Println(params.Amount, params.Currency)
		fmt.Printf("%s\n", form.Canonical(values))
	}
	// Output:
	// 2000 usd
	// 1h3:t6:amountt4:2000t8:currencyt3:usdt8:metadatah1:t5:ordert4:4711
	// 2000 usd
	// 1h3:t6:amountt4:2000t8:currencyt3:usdt8:metadatah1:t5:ordert4:4711
}

// Invalid input is an error in Stripe's words.
func ExampleDecode_refused() {
	var params struct {
		Amount int64 `form:"amount,required" min:"1"`
	}
	for _, body := range []string{"", "amount=ten", "amount=2000&color=red"} {
		values, err := form.Parse(body)
		if err != nil {
			panic(err)
		}
		fmt.Println(form.Decode(values, &params))
	}
	// Output:
	// 400 invalid_request_error parameter_missing (amount): Missing required param: amount.
	// 400 invalid_request_error parameter_invalid_integer (amount): Invalid integer: ten
	// 400 invalid_request_error parameter_unknown (color): Received unknown parameter: color
}
