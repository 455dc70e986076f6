import { strict as assert } from "node:assert";
import { test } from "node:test";
import { CartStore } from "./cartStore";

class MemoryStorage {
  private readonly items = new Map<string, string>();
  getItem = (key: string) => this.items.get(key) ?? null;
  setItem = (key: string, value: string) => void this.items.set(key, value);
}

const mug = { id: "mug", title: "Mug", price: { cents: 950, currency: "EUR" as const }, stock: 3 };

test("a cart never holds more than the stock", () => {
  const cart = new CartStore(new MemoryStorage() as unknown as Storage);
  cart.add(mug, 2);
  cart.add(mug, 2);
  assert.equal(cart.subtotal(new Map([["mug", mug]])).cents, 3 * 950);
});

test("broken storage gives an empty cart", () => {
  const storage = new MemoryStorage();
  storage.setItem("shop.cart.v2", "{not json");
  const cart = new CartStore(storage as unknown as Storage);
  assert.equal(cart.subtotal(new Map()).cents, 0);
});
