"""What actions do: acts and questions, time and its speed, travel through time, causes, saving, help. Each is an object that knows no widget."""
