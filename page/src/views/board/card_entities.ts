/** What cards are made of: events about these make a board old. */
export const CARD_ENTITIES = ["task", "question", "session", "agent"] as const;
