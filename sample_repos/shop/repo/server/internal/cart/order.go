// Package cart checks carts and makes orders of them.
package cart

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"example.org/shop/internal/catalog"
	"example.org/shop/internal/pricing"
)

// MaxLines bounds the work that one order can cause.
const MaxLines = 100

// ErrEmptyCart means that there is nothing to order.
var ErrEmptyCart = errors.New("the cart is empty")

// Line is one row of a cart as the client sends it.
type Line struct {
	ProductID string `json:"productId"`
	Count     int    `json:"count"`
}

// Order is a cart that was paid for.
type Order struct {
	ID     string        `json:"orderId"`
	Placed time.Time     `json:"placed"`
	Lines  []Line        `json:"lines"`
	Total  pricing.Total `json:"total"`
}

// Checkout validates carts, reserves stock and writes orders.
type Checkout struct {
	Catalog *catalog.Catalog
	Coupons map[string]pricing.Coupon
	Now     func() time.Time
}

// PlaceOrder makes an order. Stock is reserved only after the price is known, so a bad coupon reserves nothing.
func (c *Checkout) PlaceOrder(lines []Line, coupon string) (*Order, error) {
	counts, err := mergeLines(lines)
	if err != nil {
		return nil, err
	}
	total, err := c.price(counts, coupon)
	if err != nil {
		return nil, err
	}
	if err := c.Catalog.Reserve(counts); err != nil {
		return nil, fmt.Errorf("reserving stock: %w", err)
	}
	return &Order{ID: newOrderID(), Placed: c.Now(), Lines: lines, Total: total}, nil
}

func (c *Checkout) price(counts map[string]int, coupon string) (pricing.Total, error) {
	var priced []pricing.Line
	for id, count := range counts {
		product, err := c.Catalog.Find(id)
		if err != nil {
			return pricing.Total{}, fmt.Errorf("%s: %w", id, err)
		}
		priced = append(priced, pricing.Line{Price: product.Price, Count: count})
	}
	discounts := []pricing.Discount{pricing.BulkDiscount{From: 20000, Percent: 5}}
	if found, ok := c.Coupons[coupon]; ok {
		discounts = append(discounts, found)
	}
	return pricing.Calculate(priced, discounts, c.Now())
}

// mergeLines adds lines of the same product together and refuses carts that make no sense.
func mergeLines(lines []Line) (map[string]int, error) {
	if len(lines) == 0 {
		return nil, ErrEmptyCart
	}
	if len(lines) > MaxLines {
		return nil, fmt.Errorf("more than %d lines", MaxLines)
	}
	counts := make(map[string]int, len(lines))
	for _, l := range lines {
		if l.Count <= 0 {
			return nil, fmt.Errorf("%s: count %d", l.ProductID, l.Count)
		}
		counts[l.ProductID] += l.Count
	}
	return counts, nil
}

func newOrderID() string {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err)
	}
	return hex.EncodeToString(b[:])
}
