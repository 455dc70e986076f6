import type { Money } from "./money";

export interface Product {
  id: string;
  title: string;
  price: Money;
  stock: number;
}

export interface CartLine {
  productId: string;
  count: number;
}

/** An answer of the server that is not a success. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }

  /** Whether the same request may succeed later. */
  get retryable(): boolean {
    return this.status === 429 || this.status >= 500;
  }
}

const MAX_ATTEMPTS = 3;
const BASE_DELAY_MS = 200;

/** All requests of the client go through here: JSON in and out, retries with exponential backoff. */
export class ApiClient {
  constructor(
    private readonly baseUrl: string,
    private readonly fetchImpl: typeof fetch = fetch,
  ) {}

  listProducts(query = ""): Promise<Product[]> {
    return this.request("GET", `/products?q=${encodeURIComponent(query)}`);
  }

  placeOrder(lines: CartLine[], coupon?: string): Promise<{ orderId: string; total: Money }> {
    return this.request("POST", "/orders", { lines, coupon });
  }

  private async request<T>(method: string, path: string, body?: unknown): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.requestOnce<T>(method, path, body);
      } catch (fault) {
        const retry = fault instanceof ApiError && fault.retryable && attempt < MAX_ATTEMPTS;
        if (!retry) throw fault;
        await sleep(backoffDelay(attempt));
      }
    }
  }

  private async requestOnce<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await this.fetchImpl(this.baseUrl + path, {
      method,
      headers: { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (!response.ok) {
      throw new ApiError(response.status, await response.text());
    }
    return (await response.json()) as T;
  }
}

/** 200, 400, 800 … milliseconds, with up to half of it taken off at random so that clients do not come back together. */
export function backoffDelay(attempt: number, random: () => number = Math.random): number {
  const full = BASE_DELAY_MS * 2 ** (attempt - 1);
  return full - (full / 2) * random();
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
