// What waits for the person, one card for one cause, each with the one decision that it needs.
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useKeptFocus } from "../../parts/kept_focus";
import { EmptyView, ErrorNote, LoadingNote } from "../../parts/notes";
import { useCommands } from "../../state/commands";
import { useRead } from "../../state/read";
import { CauseCard } from "./cause_card";
import { findFollowing, focusCard, listHeadings } from "./card_focus";
import { AnsweredNotes, useAnsweredElsewhere } from "./answered_elsewhere";
import { LoginCard } from "./login_card";
import { TrustCard } from "./trust_card";

const ENTITIES = ["attention", "question", "review", "task", "run", "session", "trust", "evidence"];

export default function NeedsYouView(): JSX.Element {
  const { answer, error, reload } = useRead("needs_you", {}, { on: ENTITIES });
  const [own] = useState(() => new Set<string>());
  const answered = useAnsweredElsewhere(answer?.causes, own);
  useCommands([
    { title: "Next thing that needs you", group: "Needs you", keys: "j", run: () => focusCard(1) },
    { title: "Previous thing that needs you", group: "Needs you", keys: "k", run: () => focusCard(-1) },
  ]);
  const shown = useRef<readonly string[]>([]);
  useKeptFocus((lost) => findFollowing(lost, shown.current));
  useLayoutEffect(() => {
    shown.current = listHeadings();
  });
  if (!answer) return error ? <ErrorNote error={error} onRetry={reload} /> : <LoadingNote />;
  const left = answer.count - answer.causes.length - answer.logins.length - (answer.trust ? 1 : 0);
  return (
    <div class="needs-you">
      <header class="view-head">
        <h1 tabIndex={-1}>Needs you</h1>
        {answer.count > 0 && <p class="muted">{answer.count === 1 ? "1 decision" : `${answer.count} decisions`}</p>}
      </header>
      {error && <ErrorNote error={error} onRetry={reload} />}
      <AnsweredNotes notes={answered} />
      {answer.count === 0 ? (
        <EmptyView title="Nothing needs you.">
          Questions of agents, permissions, reviews and whatever else only you can decide appear here.
        </EmptyView>
      ) : (
        <ul class="cause-list">
          {answer.causes.map((cause) => (
            <li key={cause.id}>
              <CauseCard cause={cause} onAnswered={(isKept) => (isKept ? own.add(cause.id) : own.delete(cause.id))} />
            </li>
          ))}
          {answer.trust && (
            <li key="trust">
              <TrustCard cause={answer.trust} onTrusted={reload} />
            </li>
          )}
          {answer.logins.map((login) => (
            <li key={login.server}>
              <LoginCard login={login} />
            </li>
          ))}
        </ul>
      )}
      {left > 0 && <p class="muted">{left} more appear when these are decided.</p>}
    </div>
  );
}
