// Package catalog keeps the products and their stock.
package catalog

import (
	"errors"
	"sort"
	"strings"
	"sync"
)

// ErrUnknownProduct means that no product has the given identifier.
var ErrUnknownProduct = errors.New("unknown product")

// ErrOutOfStock means that fewer pieces are left than were asked for.
var ErrOutOfStock = errors.New("out of stock")

// Product is something that can be bought. Price is in cents.
type Product struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Price int64  `json:"price"`
	Stock int    `json:"stock"`
}

// Catalog is safe for use by several goroutines.
type Catalog struct {
	mu       sync.RWMutex
	products map[string]*Product
}

// New returns a catalogue that holds copies of the given products.
func New(products ...Product) *Catalog {
	c := &Catalog{products: make(map[string]*Product, len(products))}
	for _, p := range products {
		p := p
		c.products[p.ID] = &p
	}
	return c
}

// Find returns the product with this identifier.
func (c *Catalog) Find(id string) (Product, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	p, ok := c.products[id]
	if !ok {
		return Product{}, ErrUnknownProduct
	}
	return *p, nil
}

// Search returns the products whose title contains the query, sorted by title. Case does not matter.
func (c *Catalog) Search(query string) []Product {
	c.mu.RLock()
	defer c.mu.RUnlock()
	found := []Product{}
	for _, p := range c.products {
		if strings.Contains(strings.ToLower(p.Title), strings.ToLower(query)) {
			found = append(found, *p)
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].Title < found[j].Title })
	return found
}

// Reserve takes pieces of several products out of the stock: all of them, or none.
func (c *Catalog) Reserve(counts map[string]int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, count := range counts {
		p, ok := c.products[id]
		if !ok {
			return ErrUnknownProduct
		}
		if p.Stock < count {
			return ErrOutOfStock
		}
	}
	for id, count := range counts {
		c.products[id].Stock -= count
	}
	return nil
}
