export {
  CLITestClient,
  Wheelhouse,
  type Answer,
  type CallOptions,
  type CommandOptions,
  type ConnectOptions,
  type MessagesOptions,
  type TimeoutOptions,
  type ScreenOptions,
  type StartOptions,
} from './client.js';
export { WheelhouseError } from './error.js';
export type * from './types.js';
export type { ClientState as CLIStateSnapshot, ClientState as CLIState, ScreenBody as ScreenResponse } from './types.js';
