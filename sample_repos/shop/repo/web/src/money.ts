/** An amount in the smallest unit of its currency. */
export interface Money {
  readonly cents: number;
  readonly currency: "EUR" | "USD" | "GBP";
}

/** Thrown where two amounts of different currencies would be added. */
export class CurrencyMismatch extends Error {}

export function addMoney(a: Money, b: Money): Money {
  if (a.currency !== b.currency) {
    throw new CurrencyMismatch(`${a.currency} + ${b.currency}`);
  }
  return { cents: a.cents + b.cents, currency: a.currency };
}

export function multiplyMoney(amount: Money, count: number): Money {
  return { cents: Math.round(amount.cents * count), currency: amount.currency };
}

/** "12,50 €" for people; the separator and the place of the sign depend on the locale. */
export function formatMoney(amount: Money, locale = "de-DE"): string {
  return new Intl.NumberFormat(locale, { style: "currency", currency: amount.currency }).format(amount.cents / 100);
}
