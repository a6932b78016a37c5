// Command receiver is a merchant's server for smoke.sh: it takes webhooks on every address of this machine and prints
// the type of each event.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
)

func main() {
	log.Fatal(http.ListenAndServe(":"+os.Args[1], http.HandlerFunc(receive)))
}

func receive(w http.ResponseWriter, r *http.Request) {
	var event struct {
		Type string `json:"type"`
	}
	if err := json.NewDecoder(r.Body).Decode(&event); err != nil || r.Header.Get("Stripe-Signature") == "" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	fmt.Println("received", event.Type)
}
