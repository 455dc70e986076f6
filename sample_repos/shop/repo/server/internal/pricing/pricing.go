// Package pricing turns a cart into a total: discounts, coupons, tax and shipping.
package pricing

import (
	"errors"
	"time"
)

// VATPercent is the value added tax that every price includes.
const VATPercent = 19

// FreeShippingFrom is the order value in cents from which shipping costs nothing.
const FreeShippingFrom = 4900

const shippingCents = 490

// ErrCouponExpired means that the coupon exists but its time has passed.
var ErrCouponExpired = errors.New("coupon expired")

// Line is one product of an order with its price in cents.
type Line struct {
	Price int64
	Count int
}

// Coupon takes a percentage off the value of the goods.
type Coupon struct {
	Code    string
	Percent int64
	Expires time.Time
}

// Discount is a rule that may lower the value of an order.
type Discount interface {
	// Apply returns the cents to take off.
	Apply(subtotal int64, now time.Time) (int64, error)
}

// Apply implements Discount.
func (c Coupon) Apply(subtotal int64, now time.Time) (int64, error) {
	if now.After(c.Expires) {
		return 0, ErrCouponExpired
	}
	return subtotal * c.Percent / 100, nil
}

// BulkDiscount takes a percentage off from a certain order value on.
type BulkDiscount struct {
	From    int64
	Percent int64
}

// Apply implements Discount.
func (b BulkDiscount) Apply(subtotal int64, _ time.Time) (int64, error) {
	if subtotal < b.From {
		return 0, nil
	}
	return subtotal * b.Percent / 100, nil
}

// Total is what the customer pays, and what of it is tax and shipping.
type Total struct {
	Goods    int64 `json:"goods"`
	Shipping int64 `json:"shipping"`
	Tax      int64 `json:"tax"`
	Sum      int64 `json:"sum"`
}

// Calculate adds an order up. Discounts are applied to the undiscounted value, so their order does not matter.
func Calculate(lines []Line, discounts []Discount, now time.Time) (Total, error) {
	var subtotal, off int64
	for _, l := range lines {
		subtotal += l.Price * int64(l.Count)
	}
	for _, d := range discounts {
		cents, err := d.Apply(subtotal, now)
		if err != nil {
			return Total{}, err
		}
		off += cents
	}
	goods := max(subtotal-off, 0)
	shipping := shippingFor(goods)
	return Total{Goods: goods, Shipping: shipping, Tax: includedTax(goods + shipping), Sum: goods + shipping}, nil
}

func shippingFor(goods int64) int64 {
	if goods >= FreeShippingFrom {
		return 0
	}
	return shippingCents
}

// includedTax is the tax inside a gross amount, rounded half up.
func includedTax(gross int64) int64 {
	return (gross*VATPercent + (100+VATPercent)/2) / (100 + VATPercent)
}
