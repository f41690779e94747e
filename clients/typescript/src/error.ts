/** Error of the client, or an error response of the server. */
export class WheelhouseError extends Error {
  override readonly name = 'WheelhouseError';
  /** HTTP status code; null if there was no response. */
  readonly status: number | null;
  /** Short stable description for comparisons, for example `Invalid key name` or `timeout`. */
  readonly error: string;
  /** Rejected value and suggested fix. */
  readonly detail: string | undefined;
  /** Actual screen, if an expectation failed. */
  readonly screen: string | undefined;
  /** Position of the error in a condition, in characters from 0. */
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
