// Amounts of money by currency: `1.20 USD`.

export function formatCost(cost: Readonly<Record<string, number>>): string {
  return Object.entries(cost)
    .map(([currency, amount]) => `${amount.toFixed(amount === 0 || amount >= 0.01 ? 2 : 4)} ${currency}`)
    .join(" + ");
}
