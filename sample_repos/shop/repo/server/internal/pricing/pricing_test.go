package pricing

import (
	"testing"
	"time"
)

func TestShippingIsFreeForLargeOrders(t *testing.T) {
	total, err := Calculate([]Line{{Price: 5000, Count: 1}}, nil, time.Now())
	if err != nil || total.Shipping != 0 {
		t.Errorf("got %+v, %v", total, err)
	}
}

func TestExpiredCouponIsAnError(t *testing.T) {
	old := Coupon{Code: "SPRING", Percent: 10, Expires: time.Unix(0, 0)}
	if _, err := Calculate(nil, []Discount{old}, time.Now()); err != ErrCouponExpired {
		t.Errorf("got %v", err)
	}
}
