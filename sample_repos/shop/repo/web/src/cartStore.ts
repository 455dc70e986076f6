import type { CartLine, Product } from "./api";
import { addMoney, multiplyMoney, type Money } from "./money";

type Listener = (lines: readonly CartLine[]) => void;

const STORAGE_KEY = "shop.cart.v2";

/** The shopping cart of this browser. It outlives a reload and tells listeners of each change. */
export class CartStore {
  private lines: CartLine[];
  private readonly listeners = new Set<Listener>();

  constructor(private readonly storage: Storage) {
    this.lines = parseStoredLines(storage.getItem(STORAGE_KEY));
  }

  add(product: Product, count = 1): void {
    const line = this.lines.find((l) => l.productId === product.id);
    const wanted = Math.min((line?.count ?? 0) + count, product.stock);
    this.setCount(product.id, wanted);
  }

  /** Zero takes the line out of the cart. */
  setCount(productId: string, count: number): void {
    const others = this.lines.filter((l) => l.productId !== productId);
    this.lines = count > 0 ? [...others, { productId, count }] : others;
    this.persist();
  }

  subscribe(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** What the cart costs before coupons, which only the server knows. */
  subtotal(products: ReadonlyMap<string, Product>): Money {
    let sum: Money = { cents: 0, currency: "EUR" };
    for (const line of this.lines) {
      const product = products.get(line.productId);
      if (product) sum = addMoney(sum, multiplyMoney(product.price, line.count));
    }
    return sum;
  }

  private persist(): void {
    this.storage.setItem(STORAGE_KEY, JSON.stringify(this.lines));
    for (const listener of this.listeners) listener(this.lines);
  }
}

/** Lines from local storage; anything that does not look like a cart is thrown away. */
function parseStoredLines(raw: string | null): CartLine[] {
  try {
    const value: unknown = JSON.parse(raw ?? "[]");
    return Array.isArray(value) ? value.filter(isCartLine) : [];
  } catch {
    return [];
  }
}

function isCartLine(value: unknown): value is CartLine {
  const line = value as CartLine;
  return typeof line?.productId === "string" && Number.isInteger(line.count) && line.count > 0;
}
