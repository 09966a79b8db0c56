"""`windrow bench peers`: windrow beside the engines that one would otherwise choose."""
