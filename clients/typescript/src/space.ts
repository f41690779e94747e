// What the paths of a conversation give. Written by hand: they are not in the description that types.ts is made from.

/** Something that waits for an answer. */
export interface Question {
  id: string;
  [field: string]: unknown;
}

/** An answer to a question: one of its options, or a text. */
export type Answer = { option: string; text?: never } | { text: string; option?: never };

/** What became of a command: its fields depend on the path. */
export interface Receipt {
  request_id?: string;
  [field: string]: unknown;
}

/** One message of the chat, without what surrounds it. */
export interface HistoryItem {
  role: 'user' | 'model';
  text: string;
}
