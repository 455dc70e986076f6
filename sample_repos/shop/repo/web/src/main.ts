import { ApiClient, ApiError, type Product } from "./api";
import { CartStore } from "./cartStore";
import { formatMoney } from "./money";

const api = new ApiClient("/api");
const cart = new CartStore(window.localStorage);

/** Fill the product list; called on load and when the search field changes. */
async function showProducts(query: string): Promise<void> {
  const list = document.querySelector("#products")!;
  try {
    list.replaceChildren(...(await api.listProducts(query)).map(productRow));
  } catch (fault) {
    list.textContent = fault instanceof ApiError ? fault.message : "The shop cannot be reached.";
  }
}

function productRow(product: Product): HTMLElement {
  const row = document.createElement("li");
  const button = document.createElement("button");
  button.textContent = product.stock > 0 ? "Add to cart" : "Sold out";
  button.disabled = product.stock === 0;
  button.addEventListener("click", () => cart.add(product));
  row.append(`${product.title} ${formatMoney(product.price)} `, button);
  return row;
}

document.querySelector<HTMLInputElement>("#search")?.addEventListener("input", (event) => {
  void showProducts((event.target as HTMLInputElement).value);
});
void showProducts("");
