/** What went wrong, with the server's own words where it was the server that said no. */
export class WheelhouseError extends Error {
  override readonly name = 'WheelhouseError';
  /** The HTTP status; null when there was no answer. */
  readonly status: number | null;
  /** A few stable words to compare with, such as `Invalid key name` or `timeout`. */
  readonly error: string;
  /** The value that was wrong and what to do. */
  readonly detail: string | undefined;
  /** What the screen showed instead, where that is known. */
  readonly screen: string | undefined;
  /** Where in a condition the mistake is, counted in characters from 0. */
  readonly position: number | undefined;

  constructor(
    status: number | null,
    error: string,
    more: { detail?: string | undefined; screen?: string | undefined; position?: number | undefined; cause?: unknown } = {},
  ) {
    const head = [status, error].filter((part) => part !== null).join(' ');
    const text = more.detail === undefined ? head : `${head}: ${more.detail}`;
    super(more.screen === undefined ? text : `${text}\n\nActual:\n${more.screen}`, { cause: more.cause });
    this.status = status;
    this.error = error;
    this.detail = more.detail;
    this.screen = more.screen;
    this.position = more.position;
  }
}
