package catalog

import (
	"errors"
	"testing"
)

func TestReserveTakesAllOrNothing(t *testing.T) {
	c := New(Product{ID: "mug", Stock: 2}, Product{ID: "pen", Stock: 1})
	if err := c.Reserve(map[string]int{"mug": 1, "pen": 5}); !errors.Is(err, ErrOutOfStock) {
		t.Fatalf("got %v", err)
	}
	if p, _ := c.Find("mug"); p.Stock != 2 {
		t.Errorf("stock changed to %d", p.Stock)
	}
}

func TestSearchIgnoresCase(t *testing.T) {
	c := New(Product{ID: "mug", Title: "Blue Mug"})
	if got := c.Search("bLuE"); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}
