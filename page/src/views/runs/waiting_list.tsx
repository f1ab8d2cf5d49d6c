// What of a run waits for a person: the cards of Needs you, with the decision right there.
import type { JSX } from "preact";
import { useRead } from "../../state/read";
import { CauseCard } from "../needs_you/cause_card";

const ENTITIES = ["attention", "question", "review"];

export function WaitingList({ run }: { run: string }): JSX.Element | null {
  const { answer } = useRead("needs_you", {}, { on: ENTITIES });
  const ours = answer?.causes.filter((one) => one.run === run && one.kind !== "ended") ?? [];
  if (!ours.length) return null;
  return (
    <section class="cause-list" aria-label="Waits for you">
      {ours.map((one) => (
        <CauseCard key={one.id} cause={one} onAnswered={() => {}} />
      ))}
    </section>
  );
}
