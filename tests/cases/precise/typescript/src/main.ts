import { Circle, Square, total } from "./shape";

export function größe(): number {
  const round = new Circle(2); const label = "😀"; return total([round, new Square(3)]) + label.length;
}

/* 😀😀 */ export function report(): string { return `${größe()} in all`; }
