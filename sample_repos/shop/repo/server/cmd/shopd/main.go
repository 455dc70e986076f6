// Command shopd serves the shop's HTTP API.
package main

import (
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"
	"time"

	"example.org/shop/internal/cart"
	"example.org/shop/internal/catalog"
)

type server struct {
	catalog  *catalog.Catalog
	checkout *cart.Checkout
}

func main() {
	products := catalog.New(catalog.Product{ID: "mug", Title: "Blue Mug", Price: 950, Stock: 40})
	s := &server{catalog: products, checkout: &cart.Checkout{Catalog: products, Now: time.Now}}
	log.Fatal(http.ListenAndServe(listenAddress(), logRequests(s.routes())))
}

// listenAddress comes from SHOP_ADDR, as containers like it.
func listenAddress() string {
	if addr := os.Getenv("SHOP_ADDR"); addr != "" {
		return addr
	}
	return ":8090"
}

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/products", s.handleProducts)
	mux.HandleFunc("POST /api/orders", s.handleOrder)
	return mux
}

func (s *server) handleProducts(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, s.catalog.Search(r.URL.Query().Get("q")))
}

func (s *server) handleOrder(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Lines  []cart.Line `json:"lines"`
		Coupon string      `json:"coupon"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&body); err != nil {
		http.Error(w, "the body is not JSON", http.StatusBadRequest)
		return
	}
	order, err := s.checkout.PlaceOrder(body.Lines, body.Coupon)
	if err != nil {
		http.Error(w, err.Error(), statusOf(err))
		return
	}
	writeJSON(w, http.StatusCreated, order)
}

// statusOf maps what went wrong to an HTTP status: what the client can fix is 4xx.
func statusOf(err error) int {
	switch {
	case errors.Is(err, catalog.ErrOutOfStock):
		return http.StatusConflict
	case errors.Is(err, catalog.ErrUnknownProduct):
		return http.StatusNotFound
	default:
		return http.StatusUnprocessableEntity
	}
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(value); err != nil {
		log.Printf("writing the answer: %v", err)
	}
}

// logRequests writes one line for each request with the time it took.
func logRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		next.ServeHTTP(w, r)
		log.Printf("%s %s %s", r.Method, r.URL.Path, time.Since(start))
	})
}
